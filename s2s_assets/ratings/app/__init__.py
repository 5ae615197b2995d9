"""The rating app: thin routes over the ratings room; pages, headers, limits, media, and the server itself."""
