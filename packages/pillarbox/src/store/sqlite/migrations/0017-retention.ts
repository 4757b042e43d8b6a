/** As in PostgreSQL: the index by which an entity's notifications are found names the event as well. */
export const retention = `
drop index pillarbox_notifications_entity;
create index pillarbox_notifications_entity on pillarbox_notifications (tenant_id, entity_type, entity_id, event_id)
  where entity_id is not null;
`
