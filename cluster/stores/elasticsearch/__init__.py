"""The text index on an Elasticsearch server."""
