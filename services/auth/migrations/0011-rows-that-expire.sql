-- Housekeeping finds expired rows by these indexes, however many rows there are.
create index email_changes_by_expiry on auth.email_changes (expires_at);
create index invitations_by_expiry on auth.invitations (expires_at);
create index mail_requests_by_expiry on auth.mail_requests (expires_at);
create index password_resets_by_expiry on auth.password_resets (expires_at);
create index known_networks_by_sign_in on auth.known_networks (last_sign_in_at);
