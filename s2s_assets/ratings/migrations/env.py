"""What alembic runs: the migrations on the connection that `migrate` hands over, inside its transaction."""

from alembic import context

from s2s_assets.ratings.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
