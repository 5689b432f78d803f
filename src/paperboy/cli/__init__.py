"""The composition root: the only reader of the environment, the only builder of real parts, a file per command."""
