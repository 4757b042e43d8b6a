import { NativeSelect, NumberInput, Stack, Text, TextInput } from '@mantine/core'
import type { Account, SandboxFaults } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call, get, type PageOf } from '../app/api.ts'
import type { Scope } from '../app/session.ts'
import { AskDialog } from '../parts/ask-dialog.tsx'
import { channelWord } from '../parts/to.tsx'

interface FaultFormProps {
  kinds: SandboxFaults['kinds']
  scope: Scope
  close: () => void
}

const FIELD_WORDS: Record<string, string> = {
  delayMs: 'After so many milliseconds',
  retryAfterMs: 'Asking to wait for so many milliseconds',
  reason: 'For this reason',
}

/** One fault for one account: what goes wrong, how often, and for whom. */
export function FaultForm({ kinds, scope, close }: FaultFormProps) {
  const accounts = useQuery({
    queryKey: ['live', 'sandbox-accounts', scope.tenantId],
    queryFn: () => get<PageOf<Account>>('/api/channel-accounts', { ...scope.query, limit: 200 }),
  })
  const choices = (accounts.data?.items ?? []).filter(({ provider }) => provider === 'sandbox')
  const [chosen, choose] = useState('')
  const [kind, setKind] = useState<string>('timeout_after_accept')
  const [times, setTimes] = useState<number | string>(3)
  const [percent, setPercent] = useState<number | string>('')
  const [to, setTo] = useState('')
  const [details, setDetails] = useState<Record<string, number | string>>({})
  const accountId = chosen || choices[0]?.id
  const about = kinds.find((each) => each.kind === kind)
  const fault = {
    kind,
    ...(times !== '' && { times: Number(times) }),
    ...(percent !== '' && { ratio: Number(percent) / 100 }),
    ...(to.trim() !== '' && { to: to.trim() }),
    ...Object.fromEntries(
      Object.entries(details).filter(([name, value]) => value !== '' && about?.fields.includes(name)),
    ),
  }
  return (
    <AskDialog
      title="Add a fault"
      word="Add"
      isReady={accountId !== undefined}
      perform={() => call<SandboxFaults>('POST', '/api/sandbox/faults', scope.query, { accountId, fault })}
      done={({ items }) => `${items.length} faults are active now.`}
      close={close}
    >
      <Stack gap="sm">
        {accounts.data && choices.length === 0 && (
          <Text style={{ color: 'var(--pbx-warn)' }}>This tenant has no account of the provider “sandbox”.</Text>
        )}
        <NativeSelect
          label="Account"
          value={accountId ?? ''}
          data={choices.map(({ id, name, channel }) => ({ value: id, label: `${name} (${channelWord(channel)})` }))}
          onChange={({ currentTarget }) => choose(currentTarget.value)}
        />
        <NativeSelect
          label="What goes wrong"
          description={about?.does.replaceAll('`', '')}
          value={kind}
          data={kinds.map((each) => ({ value: each.kind, label: each.kind.replaceAll('_', ' ') }))}
          onChange={({ currentTarget }) => setKind(currentTarget.value)}
        />
        <NumberInput
          label="How often"
          description="Empty: until it is stopped."
          min={1}
          value={times}
          onChange={setTimes}
          hideControls
        />
        <NumberInput
          label="Percent of calls"
          description="Empty: every call."
          min={1}
          max={100}
          value={percent}
          onChange={setPercent}
          hideControls
        />
        <TextInput
          label="Only to"
          description="An address; * stands for any characters."
          placeholder="*@example.com"
          value={to}
          onChange={({ currentTarget }) => setTo(currentTarget.value)}
        />
        {about?.fields.map((name) =>
          name === 'reason' ? (
            <TextInput
              key={name}
              label={FIELD_WORDS[name]}
              placeholder="invalid_recipient"
              value={details[name] ?? ''}
              onChange={({ currentTarget }) => setDetails({ ...details, [name]: currentTarget.value })}
            />
          ) : (
            <NumberInput
              key={name}
              label={FIELD_WORDS[name] ?? name}
              min={0}
              value={details[name] ?? ''}
              onChange={(value) => setDetails({ ...details, [name]: value })}
              hideControls
            />
          ),
        )}
      </Stack>
    </AskDialog>
  )
}
