"""The web page of a memory: browse, search and correct it in a browser (extra `web`)."""
