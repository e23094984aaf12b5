"""Foreign protocols: requests said in them, and their answers read. Pure: no sockets, no clock, no chance."""
