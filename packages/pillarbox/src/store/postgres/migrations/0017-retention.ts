/**
 * What retention asks of the ledger: whether an event has notifications left. The index by which an entity's notifications
 * are found names the event as well, so that the answer costs one look however much was sent about the entity.
 */
export const retention = `
drop index pillarbox.notifications_entity;
create index notifications_entity on pillarbox.notifications (tenant_id, entity_type, entity_id, event_id)
  where entity_id is not null;
`
