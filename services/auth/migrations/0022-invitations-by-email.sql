-- no transaction
-- Finds the invitations of an address that an identity provider has verified.
create index concurrently if not exists invitations_by_email on auth.invitations (email_key);
