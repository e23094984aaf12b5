"""HTTP/1.1 on uvloop + httptools: `server` in front, `client` behind. Knows nothing of chat; imports no other room."""
