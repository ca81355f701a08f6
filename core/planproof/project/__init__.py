"""dbt's artifacts: the only room that knows them, read without dbt."""

from planproof.project.manifest import Project, ProjectNode, read_project
from planproof.project.nodes import contract_of, model_of
from planproof.project.reads import ProjectError
from planproof.project.selection import select_models
