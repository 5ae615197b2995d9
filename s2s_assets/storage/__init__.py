"""Where things lie: blobs (a directory or S3), write-once tables, the ratings database's engine.

A store's objects, below the study's id:

```
blobs/<2>/<sha256>.<suffix>              content-addressed audio, events, pages
tables/<asset>/<partition>/<sha256>.parquet
heads/<asset>/<partition>/HEAD           the one object that is replaced: the version in force
memos/<asset>/<partition>/<sha256>       what a memo key once gave
records/<kind>/<name>.json               finished attempts, epochs, snapshots
```

Beside the study's folder lies `identity.json`: the study that the store belongs to.
"""

from s2s_assets.storage.blobs import BlobStore, content_type
from s2s_assets.storage.database import open_engine, reading, settle_deletions
from s2s_assets.storage.opening import open_store
from s2s_assets.storage.parquet import Rows, from_parquet, in_pieces, to_parquet
from s2s_assets.storage.spreadsheet import guarded, unguarded
from s2s_assets.storage.tables import StudyStore, Table

__all__ = [
    "BlobStore",
    "Rows",
    "StudyStore",
    "Table",
    "content_type",
    "from_parquet",
    "guarded",
    "in_pieces",
    "open_engine",
    "open_store",
    "reading",
    "settle_deletions",
    "to_parquet",
    "unguarded",
]
