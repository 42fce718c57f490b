-- Filters of the console's lists that a member of the staff keeps under a name. The query is that of the list's address.
CREATE TABLE saved_views (
    id TEXT PRIMARY KEY NOT NULL,
    user_id TEXT NOT NULL REFERENCES users (id),
    list TEXT NOT NULL,
    name TEXT NOT NULL,
    query TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL
);
CREATE UNIQUE INDEX saved_views_by_name ON saved_views (user_id, list, name);
