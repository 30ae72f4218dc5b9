"""Five ways to organise a memory, each a view over one store."""
