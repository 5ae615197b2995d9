"""Every exception that this package raises on purpose.

```
S2SError
├── InputError          what was given is wrong: a file, a row, a key, a call (exit status 2)
│   ├── StudyError      a study folder
│   ├── ConfigKeyError  a config key or partition key
│   ├── RatingsError    a ratings file or row
│   │   └── PilotError  ratings that do not tell what their variance is made of
│   └── IdentityError   a store or database that belongs to another study
├── AudioError          a recording that cannot be decoded or measured
├── StoreError          a store that is missing an object, refuses a write, or lacks what is needed
│   └── ObjectNotFoundError   no object has the key
├── FitError            a fit that must not be published
└── ReleaseError        a board that must not be published or sealed
```

A message names the file, row or key, what was expected, and what to do.
"""


class S2SError(Exception):
    """Base of the tree."""


class InputError(S2SError):
    """What was given is wrong; commands end in exit status 2."""


class StudyError(InputError):
    """A study folder cannot be used as it stands."""


class ConfigKeyError(InputError):
    """Text that is not `model|voice|thinking` in the allowed alphabet."""


class RatingsError(InputError):
    """A ratings file cannot be read as one."""


class PilotError(RatingsError):
    """Ratings from which it cannot be told what raters, prompts and chance add to the variance."""


class IdentityError(InputError):
    """A store, database or Dagster home that belongs to another study."""


class AudioError(S2SError):
    """A recording that cannot be decoded or measured; the message is the reason shown to people."""


class StoreError(S2SError):
    """A store that is missing an object, refuses a write, or lacks a guarantee that is needed."""


class ObjectNotFoundError(StoreError):
    """No object in the store has the key."""


class FitError(S2SError):
    """A fit that must not be published, such as one that did not converge."""


class ReleaseError(S2SError):
    """A board that must not be published or sealed, such as one whose blocking check is red."""
