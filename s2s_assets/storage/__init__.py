"""Where things lie: blobs (a directory or S3), write-once tables, the ratings database's engine."""
