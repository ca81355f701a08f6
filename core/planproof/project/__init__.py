"""dbt's artifacts: the only room that knows them, read without dbt."""

from planproof.project.cache import Cache
from planproof.project.contracts import load_own
from planproof.project.location import ProjectLocation
from planproof.project.manifest import Project, ProjectNode, read_project
from planproof.project.nodes import contract_of, model_of, settings_of
from planproof.project.reads import ProjectError
from planproof.project.selection import select_models
from planproof.project.sources import Frozen, Known, read_frozen
