import type { CommandEntry } from '../command.ts'
import { ACCOUNT_COMMANDS } from './accounts.ts'
import { ALERT_COMMANDS } from './alerts.ts'
import { BULK_COMMANDS } from './bulk.ts'
import { EVENT_COMMANDS } from './events.ts'
import { KEY_COMMANDS } from './keys.ts'
import { KPI_COMMANDS } from './kpis.ts'
import { NOTIFICATION_COMMANDS } from './notifications.ts'
import { OPERATION_COMMANDS } from './operations.ts'
import { SCHEDULE_COMMANDS } from './schedules.ts'
import { TAIL_COMMANDS } from './tail.ts'
import { TEMPLATE_COMMANDS } from './templates.ts'
import { TENANT_COMMANDS } from './tenants.ts'

/** Every command that asks a server, with a key. Those about keys and the audit join the groups of the database's commands. */
export const OPERATOR_COMMANDS: readonly CommandEntry[] = [
  ...NOTIFICATION_COMMANDS,
  ...BULK_COMMANDS,
  ...EVENT_COMMANDS,
  ...SCHEDULE_COMMANDS,
  ...KPI_COMMANDS,
  ...TAIL_COMMANDS,
  ...OPERATION_COMMANDS,
  ...ALERT_COMMANDS,
  ...ACCOUNT_COMMANDS,
  ...TEMPLATE_COMMANDS,
  ...TENANT_COMMANDS,
  ...KEY_COMMANDS,
]
