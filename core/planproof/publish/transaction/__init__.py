"""How a publish stays whole: its names, who holds the lock, the journal, recovery, and the way out."""

from planproof.publish.transaction.begin import begin_publication
from planproof.publish.transaction.content import Remains
from planproof.publish.transaction.lock import Evicted, Lock, Locked
from planproof.publish.transaction.names import Names, Refused, quarantine_of
from planproof.publish.transaction.owner import Owner
from planproof.publish.transaction.places import database_root
from planproof.publish.transaction.publication import JournaledPublication, column_list
from planproof.publish.transaction.states import STATES, Ending, Stopped, Target
from planproof.publish.transaction.verification import Disbelieved
