import { Button, Group, NativeSelect, Stack, Title } from '@mantine/core'
import type { Account } from '@pillarbox/client'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { get, type PageOf } from '../app/api.ts'
import { type Scope, useCanConfigure, useScope } from '../app/session.ts'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { Heads } from '../parts/heads.tsx'
import { CHANNEL_NAMES, channelWord } from '../parts/to.tsx'
import { When } from '../parts/when.tsx'
import { ACCOUNT_STATUSES, AccountState, BreakerState, paceWords } from './account-words.tsx'
import { useAccountNumbers } from './use-account-numbers.ts'

/** Whom messages go out through, and how that goes. */
export function Accounts() {
  const scope = useScope()
  const search = useSearch({ from: '/shell/accounts' })
  const { channel, status } = search
  const navigate = useNavigate({ from: '/accounts' })
  const canConfigure = useCanConfigure()
  const { data, error, refetch } = useQuery({
    queryKey: ['live', 'accounts', scope.tenantId, channel, status],
    queryFn: () => get<PageOf<Account>>('/api/channel-accounts', { ...scope.query, channel, status, limit: 200 }),
    enabled: scope.tenantId !== null,
    placeholderData: keepPreviousData,
    refetchInterval: 10_000,
  })
  const narrow = (changes: Partial<typeof search>): void =>
    void navigate({ search: (old) => ({ ...old, ...changes }), replace: true })
  const makeOne = (
    <Button size="xs" renderRoot={(props) => <Link to="/accounts/new" search={{ channel }} {...props} />}>
      Make one
    </Button>
  )
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Title order={1}>Accounts</Title>
        {canConfigure && makeOne}
      </Group>
      <Group gap="xs" align="end" role="search">
        <NativeSelect
          label="Channel"
          value={channel ?? ''}
          data={[
            { value: '', label: 'any' },
            ...CHANNEL_NAMES.map((name) => ({ value: name, label: channelWord(name) })),
          ]}
          onChange={({ currentTarget }) => narrow({ channel: currentTarget.value || undefined })}
          data-filter=""
        />
        <NativeSelect
          label="State"
          value={status ?? ''}
          data={[{ value: '', label: 'any' }, ...ACCOUNT_STATUSES]}
          onChange={({ currentTarget }) => narrow({ status: currentTarget.value || undefined })}
        />
      </Group>
      <section className="panel" aria-label="Found">
        {!data ? (
          error ? (
            <Trouble error={error} retry={() => void refetch()} />
          ) : (
            <Loading />
          )
        ) : data.items.length === 0 ? (
          <Blank title={channel || status ? 'None match' : 'No account yet'} action={canConfigure && makeOne}>
            An account is how messages leave: a vendor’s credentials, or the sandbox, which delivers to a page of this
            console and to nobody else.
          </Blank>
        ) : (
          <AccountTable accounts={data.items} scope={scope} />
        )}
      </section>
    </Stack>
  )
}

function AccountTable({ accounts, scope }: { accounts: readonly Account[]; scope: Scope }) {
  const numbers = useAccountNumbers(scope)
  return (
    <table className="rows cards">
      <Heads names={['account', 'channel', 'provider', 'state', 'breaker', 'pace', 'used', 'waits', 'needs']} />
      <tbody>
        {accounts.map((account) => {
          const { counts, queueDepth } = numbers.get(account.id) ?? {}
          return (
            <tr key={account.id}>
              <td data-wide="">
                <Link to="/accounts/$id" params={{ id: account.id }} data-row="">
                  {account.name}
                </Link>
              </td>
              <td>{channelWord(account.channel)}</td>
              <td>{account.provider}</td>
              <td>
                <AccountState account={account} />
              </td>
              <td data-label="breaker">
                <BreakerState account={account} />
                {account.lane.heldUntil !== null && (
                  <>
                    {' '}
                    <When at={account.lane.heldUntil} />
                  </>
                )}
              </td>
              <td data-label="pace">{paceWords(account)}</td>
              <td data-label="used">{counts ? `${counts.sentPerSecond} per second` : '–'}</td>
              <td data-label="waits">{queueDepth ?? 0}</td>
              <td data-wide="">
                <span className="clip">{account.statusReason ?? account.warnings[0]?.message}</span>
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}
