"""Maritaca's older API, to which its library `maritalk` posts: `/api/chat/inference`."""
