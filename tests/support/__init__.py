"""What several test rooms share: a gateway in this process, and a client that shows raw bytes."""
