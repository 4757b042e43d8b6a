import { Alert, Group, Stack, Text, Title } from '@mantine/core'
import type { Account as AccountOf } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { get } from '../app/api.ts'
import { type Scope, useCanConfigure, useScope } from '../app/session.ts'
import { Loading, Trouble } from '../parts/blank.tsx'
import { durationWords } from '../parts/duration.ts'
import { Panel } from '../parts/panel.tsx'
import { channelWord } from '../parts/to.tsx'
import { At, When } from '../parts/when.tsx'
import { AccountActs } from './account-acts.tsx'
import { AccountState, BreakerState, paceWords } from './account-words.tsx'
import { ChangeAccount } from './change-account.tsx'
import { textOfSetting } from './field-inputs.tsx'
import { PACE_MINUTES, useAccountNumbers } from './use-account-numbers.ts'

/** One account: how sending through it goes, what its vendor needs, and what it is made of. */
export function Account() {
  const { id } = useParams({ from: '/shell/accounts/$id' })
  const scope = useScope()
  const canConfigure = useCanConfigure()
  const { data, error, refetch } = useQuery({
    queryKey: ['live', 'account', id, scope.tenantId],
    queryFn: () => get<AccountOf>(`/api/channel-accounts/${encodeURIComponent(id)}`, scope.query),
    enabled: scope.tenantId !== null,
    refetchInterval: 5_000,
  })
  if (!data) return error ? <Trouble error={error} retry={() => void refetch()} /> : <Loading />
  return (
    <Stack gap="md">
      <Text size="sm">
        <Link to="/accounts">Accounts</Link>
      </Text>
      <Group justify="space-between" align="start">
        <div>
          <Title order={1} style={{ overflowWrap: 'anywhere' }}>
            {data.name}
          </Title>
          <Group gap="md" mt={4}>
            <AccountState account={data} />
            <Text c="dimmed">
              {channelWord(data.channel)} by {data.provider}
            </Text>
          </Group>
        </div>
        {canConfigure && <AccountActs account={data} scope={scope} />}
      </Group>
      {data.statusReason !== null && <Text style={{ color: 'var(--pbx-bad)' }}>{data.statusReason}</Text>}
      {data.warnings.length > 0 && (
        <Alert color="orange" variant="outline" title="Look at this">
          {data.warnings.map(({ message }) => (
            <div key={message}>{message}</div>
          ))}
        </Alert>
      )}
      <div className="two">
        <Stack gap="md">
          <Panel title="How sending goes">
            <div className="inside">
              <Standing account={data} scope={scope} />
            </div>
          </Panel>
          {canConfigure && <ChangeAccount key={data.id} account={data} scope={scope} />}
        </Stack>
        <Stack gap="md">
          {data.webhookUrl !== null && (
            <Panel title="Receipts">
              <div className="inside">
                <Text size="sm">{data.nextStep}</Text>
                <Text size="sm" className="mono" mt="xs" style={{ overflowWrap: 'anywhere' }}>
                  {data.webhookUrl}
                </Text>
              </div>
            </Panel>
          )}
          <Panel title="Made of">
            <div className="inside">
              <MadeOf account={data} />
            </div>
          </Panel>
        </Stack>
      </div>
    </Stack>
  )
}

function Standing({ account, scope }: { account: AccountOf; scope: Scope }) {
  const { counts, queueDepth, scheduledDepth, parkedCount } = useAccountNumbers(scope).get(account.id) ?? {}
  const { lane, breaker } = account
  return (
    <Facts
      facts={{
        breaker: (
          <>
            <BreakerState account={account} /> opens after {breaker.failures} failures in a row, tries again after{' '}
            {durationWords(breaker.resetAfter)}
          </>
        ),
        held: lane.heldUntil && (
          <>
            until <When at={lane.heldUntil} />: {lane.holdReason}
          </>
        ),
        pace: paceWords(account),
        used: `${counts?.sentPerSecond ?? 0} per second in the last ${PACE_MINUTES} minutes`,
        waits: (
          <Link to="/notifications" search={{ accountId: account.id, status: 'queued,retrying,sending' }}>
            {(queueDepth ?? 0) + (scheduledDepth ?? 0)}
          </Link>
        ),
        parked: (
          <Link to="/notifications" search={{ accountId: account.id, status: 'parked' }}>
            {parkedCount ?? 0}
          </Link>
        ),
      }}
    />
  )
}

function MadeOf({ account }: { account: AccountOf }) {
  const { settings, secrets, onUnknown, onUndeliverable, onUnmapped, priority, parkedRetryAfter } = account
  const facts = Object.entries(settings).map(([name, value]): [string, ReactNode] => [name, textOfSetting(value)])
  return (
    <Facts
      facts={{
        ...Object.fromEntries(facts),
        'secrets set': secrets.length > 0 ? secrets.join(', ') : 'none',
        'unknown outcome': onUnknown === 'hold' ? 'held for somebody' : 'sent again',
        undeliverable: onUndeliverable === 'fail' ? 'fails' : 'is parked',
        'unmapped refusal': onUnmapped === 'retry' ? 'is retried' : 'is parked',
        'parked is retried': parkedRetryAfter && `once, after ${durationWords(parkedRetryAfter)}`,
        priority: priority === 0 ? null : `${priority}, lower goes first`,
        made: <At at={account.createdAt} />,
        changed: <At at={account.updatedAt} />,
        id: <span className="mono">{account.id}</span>,
      }}
    />
  )
}

function Facts({ facts }: { facts: Record<string, ReactNode> }) {
  return (
    <dl className="facts">
      {Object.entries(facts)
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <div key={name} style={{ display: 'contents' }}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}
