"""The journal: every entry is on disk before it is on its way to the store.

    segment.py   the format of files and records
    writer.py    a worker's end: one write(2) for each entry
    reader.py    what stands in a segment, and what is broken in it
    shipper.py   from segments to the store
A write(2) that returned survives `kill -9` of any process. A power cut loses what the shipper has neither committed nor
synced yet: SYNC_EVERY seconds at most.
"""
