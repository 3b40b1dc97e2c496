"""Training that somebody watches: what may be asked for, the film of its maps, and the process that it runs in."""
