"""Live training: the plan of a request, its limits, the stream of snapshots, and the worker process."""
