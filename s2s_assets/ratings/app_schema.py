"""The rating app's tables: who came by which link, what they were shown, heard and replied.

```
signing_key     the key that signs links; made with the first one
invitation      a link that raters come by, until it is revoked; its secret is stored hashed
consent_text    the words of a version that somebody agreed to
sitting         a rater's way from consent to the code; the cookie's token is stored hashed
task            what a sitting was shown: a pair, a control, training, or a single response (MOS)
stimulus        what is heard in a task, by an opaque token, and how much of it was heard
reply           one answer in a task, as given; a finished pair's replies become answers
admin_access    a link to the admin pages and the browser that opened it; link and cookie are stored hashed
recording_verdict   what a reviewer said of a recording's file; of one file the newest counts, and none is ever deleted
```

A sitting has at most one open task, and a response at most one live single-response task a slot, by index.
"""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from s2s_assets.ratings.schema import UtcTime, column, key, metadata

OPEN_TASK = "state = 'open'"
MOS_VOTES = "kind = 'mos' AND state IN ('open', 'done')"
"""Single-response tasks that take a vote of their response."""

signing_key = Table(
    "signing_key",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    column("key", Text),
    CheckConstraint("id = 1", name="ck_signing_key_one"),
)

invitation = Table(
    "invitation",
    metadata,
    key(),
    column("secret_hash", Text),
    column("panel", Text),
    column("work", Text),
    column("label", Text),
    column("return_url", Text, null=True),
    column("created_at", UtcTime),
    column("revoked_at", UtcTime, null=True),
    column("revoked_by", Text, null=True),
    column("revoked_reason", Text, null=True),
    CheckConstraint("panel IN ('personal', 'prolific', 'mturk', 'generic')", name="ck_invitation_panel"),
    CheckConstraint("work IN ('pairs', 'mos')", name="ck_invitation_work"),
)

consent_text = Table(
    "consent_text",
    metadata,
    column("version", Text, primary_key=True),
    column("language", Text),
    column("text", Text),
)

sitting = Table(
    "sitting",
    metadata,
    key(),
    column("name", Text),
    column("token_hash", Text),
    column("invitation_id", BigInteger, ForeignKey("invitation.id", name="fk_sitting_invitation")),
    column("rater_id", BigInteger, ForeignKey("rater.id", name="fk_sitting_rater")),
    column("claim", Text),
    column("language", Text),
    column("shortcuts", Boolean),
    column("consent", Text),
    column("started_at", UtcTime),
    column("sound_tries", Integer),
    column("sound_at", UtcTime, null=True),
    column("headphone_tries", Integer),
    column("headphone_answers", JSON),
    column("headphones", Text, null=True),
    column("trained_at", UtcTime, null=True),
    column("notice", Text, null=True),
    column("ended_at", UtcTime, null=True),
    column("outcome", Text, null=True),
    CheckConstraint("outcome IN ('done', 'failed', 'no_work')", name="ck_sitting_outcome"),
    UniqueConstraint("name", name="uq_sitting_name"),
    UniqueConstraint("token_hash", name="uq_sitting_token_hash"),
    UniqueConstraint("invitation_id", "rater_id", "claim", name="uq_sitting_claim"),
)

task = Table(
    "task",
    metadata,
    key(),
    column("sitting_id", BigInteger, ForeignKey("sitting.id", name="fk_task_sitting")),
    column("assignment_id", BigInteger, ForeignKey("assignment.id", name="fk_task_assignment"), null=True),
    column("kind", Text),
    column("position", Integer),
    column("nonce", Text),
    column("state", Text),
    column("prompt", Text),
    column("first", Text),
    column("second", Text, null=True),
    column("slot", Integer, null=True),
    column("expected", JSON(none_as_null=True), null=True),
    column("shown_at", UtcTime),
    column("expires_at", UtcTime, null=True),
    column("closed_at", UtcTime, null=True),
    column("comment", Text, null=True),
    column("problem", Text, null=True),
    column("problem_role", Text, null=True),
    CheckConstraint("kind IN ('training', 'pair', 'mos', 'null', 'gold', 'trap', 'repeat')", name="ck_task_kind"),
    CheckConstraint("state IN ('open', 'done', 'late', 'problem', 'expired')", name="ck_task_state"),
    UniqueConstraint("nonce", name="uq_task_nonce"),
    UniqueConstraint("assignment_id", name="uq_task_assignment"),
    Index(
        "uq_task_open",
        "sitting_id",
        unique=True,
        sqlite_where=text(OPEN_TASK),
        postgresql_where=text(OPEN_TASK),
    ),
    Index(
        "uq_task_mos",
        "first",
        "slot",
        unique=True,
        sqlite_where=text(MOS_VOTES),
        postgresql_where=text(MOS_VOTES),
    ),
    Index("ix_task_sitting", "sitting_id"),
)

stimulus = Table(
    "stimulus",
    metadata,
    column("task_id", BigInteger, ForeignKey("task.id", name="fk_stimulus_task"), primary_key=True),
    column("role", Text, primary_key=True),
    column("token", Text),
    column("blob", Text),
    column("treatment", Text),
    column("duration_s", Float),
    column("plays", Integer),
    column("coverage", Float),
    column("rate", Float),
    column("heard_at", UtcTime, null=True),
    CheckConstraint("role IN ('prompt', 'first', 'second')", name="ck_stimulus_role"),
    UniqueConstraint("token", name="uq_stimulus_token"),
)

reply = Table(
    "reply",
    metadata,
    column("task_id", BigInteger, ForeignKey("task.id", name="fk_reply_task"), primary_key=True),
    column("rubric", Text, primary_key=True),
    column("value", SmallInteger),
    column("position", Integer),
    column("saved_at", UtcTime),
)

admin_access = Table(
    "admin_access",
    metadata,
    key(),
    column("secret_hash", Text),
    column("made_at", UtcTime),
    column("token_hash", Text, null=True),
    column("opened_at", UtcTime, null=True),
    column("ended_at", UtcTime, null=True),
    UniqueConstraint("secret_hash", name="uq_admin_access_secret_hash"),
    UniqueConstraint("token_hash", name="uq_admin_access_token_hash"),
)

recording_verdict = Table(
    "recording_verdict",
    metadata,
    key(),
    column("prompt", Text),
    column("recording", Text),
    column("source_blob", Text),
    column("verdict", Text, null=True),
    column("selected", Boolean),
    column("reasons", JSON),
    column("comment", Text),
    column("author", Text),
    column("created_at", UtcTime),
    CheckConstraint("verdict IN ('accept', 'rerecord', 'reject')", name="ck_recording_verdict_verdict"),
    CheckConstraint(
        "NOT selected OR (verdict IS NOT NULL AND verdict = 'accept')", name="ck_recording_verdict_selected"
    ),
    Index("ix_recording_verdict_prompt", "prompt"),
)
