-- The protocol that the upstream of a turn speaks.
alter table entries add column protocol text;
