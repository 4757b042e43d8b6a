import type { DispatchStore, DueLane } from '../../dispatch/dispatch-store.ts'
import type { BreakerState } from '../../dispatch/lane-store.ts'
import type { Channel } from '../../model/channel.ts'
import { orphans } from '../shared/claims.ts'
import { expirer } from '../shared/expire.ts'
import { stopLane } from '../shared/settle.ts'
import { claim, release } from './claim.ts'
import { complete } from './complete.ts'
import type { Connection } from './connection.ts'
import { type Connections, scriptRunner } from './scripts.ts'
import { untilFree } from './until-free.ts'

export function openDispatch(connections: Connections): DispatchStore {
  const { connection, reader, writer, clock } = connections
  const scripts = scriptRunner(connections)
  const { dialect, write } = scripts
  return {
    dueLanes: (channels, limit) => untilFree(clock, () => dueLanes(reader, clock.now(), channels, limit)),
    claim: (workerId, lanes) => writer.write((now) => claim(connection, now, { workerId, lanes })),
    complete: (workerId, completions) => writer.write((now) => complete(connection, now, workerId, completions)),
    release: (workerId, claims) => writer.write(() => release(connection, workerId, claims)),
    orphans: (workerId, held) => write(() => orphans(dialect, workerId, held)),
    expire: expirer(scripts),
    stopLane: (accountId, reason, error, actor, limit) =>
      write(() => stopLane(dialect, { accountId, reason, error, actor, limit })),
  }
}

/**
 * A skip scan of the claim index: one descent per lane with waiting rows, however many rows it has. A paused account has a
 * hold that ends now and then; a suspended one is named whatever held it, because its rows make no calls.
 */
const DUE_LANES = `
  with recursive lane (id) as (
    select min(lane_id) from pillarbox.dispatch where token is null
    union all
    select (select min(d.lane_id) from pillarbox.dispatch d where d.token is null and d.lane_id > lane.id)
    from lane where lane.id is not null
  ), waiting as materialized (
    select lane.id,
      (select min(d.visible_at) from pillarbox.dispatch d where d.token is null and d.lane_id = lane.id) as visible_at
    from lane where lane.id is not null
  )
  select w.id, a.channel, coalesce(l.breaker, 'closed') as breaker
  from waiting w join pillarbox.accounts a on a.id = w.id left join pillarbox.lanes l on l.account_id = w.id
  where w.visible_at <= $1 and (a.status = 'suspended' or l.hold_until is null or l.hold_until <= $1)
    and ($2 is null or a.channel in (select value from json_each($2)))
  order by w.visible_at, w.id limit $3`

function dueLanes(reader: Connection, now: number, channels: readonly Channel[] | null, limit: number): DueLane[] {
  const found = reader.prepare(DUE_LANES).all(now, channels === null ? null : JSON.stringify(channels), limit)
  return found.map((lane) => ({
    accountId: String(lane['id']),
    channel: String(lane['channel']) as Channel,
    breaker: String(lane['breaker']) as BreakerState,
  }))
}
