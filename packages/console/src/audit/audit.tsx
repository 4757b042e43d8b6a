import { Button, Checkbox, Group, NativeSelect, Stack, Title } from '@mantine/core'
import type { AuditEntry } from '@pillarbox/client'
import { useNavigate, useSearch } from '@tanstack/react-router'
import type { Query } from '../app/api.ts'
import { useScope, useSession } from '../app/session.ts'
import { Blank } from '../parts/blank.tsx'
import { Narrow } from '../parts/narrow.tsx'
import { PagedList, usePaged } from '../parts/paged.tsx'
import { ChainState } from './chain-state.tsx'
import { EntryTable } from './entry-table.tsx'

const RANGES: Record<string, number> = { '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000, '30d': 2_592_000_000 }
const NOTIFICATION = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i

interface AuditSearch {
  actor?: string | undefined
  action?: string | undefined
  target?: string | undefined
  last?: string | undefined
  all?: string | undefined
}

/** What was done, by whom and why. Nothing on this page can be changed. */
export function Audit() {
  const scope = useScope()
  const { data: session } = useSession()
  const search = useSearch({ from: '/shell/audit' })
  const navigate = useNavigate({ from: '/audit' })
  const isOps = session?.tenantId === null
  const isOfAll = isOps && search.all === '1'
  const list = usePaged<AuditEntry>(
    isOfAll ? '/ops/audit' : '/api/audit',
    isOfAll ? { ...scope, query: {} } : scope,
    queryOf(search),
    { question: search },
  )
  const narrow = (changes: AuditSearch): void =>
    void navigate({ search: (old) => ({ ...old, ...changes }), replace: true })
  const isNarrowed = Boolean(search.actor ?? search.action ?? search.target ?? search.last)
  return (
    <Stack gap="md">
      <Title order={1}>Audit</Title>
      <ChainState scope={scope} />
      <Group gap="xs" align="end" role="search">
        <Narrow
          label="Who"
          placeholder="console:ana"
          value={search.actor}
          narrow={(actor) => narrow({ actor })}
          isFirst
          width={170}
        />
        <Narrow
          label="Did"
          placeholder="retry"
          value={search.action}
          narrow={(action) => narrow({ action })}
          width={120}
        />
        <Narrow
          label="To what"
          placeholder="a notification’s id, key:<id>, …"
          value={search.target}
          narrow={(target) => narrow({ target })}
          width={260}
        />
        <NativeSelect
          label="When"
          value={search.last ?? ''}
          data={[
            { value: '', label: 'ever' },
            ...Object.keys(RANGES).map((name) => ({ value: name, label: `last ${name}` })),
          ]}
          onChange={({ currentTarget }) => narrow({ last: currentTarget.value || undefined })}
        />
        {isOps && (
          <Checkbox
            label="All tenants"
            checked={isOfAll}
            onChange={({ currentTarget }) => narrow({ all: currentTarget.checked ? '1' : undefined })}
            pb={8}
          />
        )}
        {isNarrowed && (
          <Button
            variant="subtle"
            size="sm"
            onClick={() => narrow({ actor: undefined, action: undefined, target: undefined, last: undefined })}
          >
            Clear
          </Button>
        )}
      </Group>
      <section className="panel" aria-label="Found">
        <PagedList
          list={list}
          word="Further back"
          blank={
            <Blank title={isNarrowed ? 'None match' : 'Nothing is on record yet'}>
              Every attempt, every transition, every act of an operator and every change of configuration will stand
              here: who, what, when, why, and what was there before.
            </Blank>
          }
        >
          {(entries) => <EntryTable entries={entries} showsTenant={isOfAll} />}
        </PagedList>
      </section>
    </Stack>
  )
}

/** Times are cut to the minute, so that one question stays one for a while. */
function queryOf({ actor, action, target, last }: AuditSearch): Query {
  const ms = RANGES[last ?? '']
  return {
    actor,
    action,
    ...(target !== undefined && { [NOTIFICATION.test(target) ? 'notificationId' : 'subject']: target }),
    ...(ms !== undefined && { from: new Date(Math.floor((Date.now() - ms) / 60_000) * 60_000).toISOString() }),
  }
}
