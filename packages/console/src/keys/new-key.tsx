import { NativeSelect, NumberInput, Stack, TextInput } from '@mantine/core'
import type { IssuedKey } from '@pillarbox/client'
import { useState } from 'react'
import { call } from '../app/api.ts'
import type { Scope } from '../app/session.ts'
import { AskDialog } from '../parts/ask-dialog.tsx'

const ROLES = [
  { value: 'publisher', label: 'publisher: sends, and asks what became of it' },
  { value: 'viewer', label: 'viewer: looks on, and sees no address' },
  { value: 'operator', label: 'operator: also retries, discards and approves' },
  { value: 'admin', label: 'admin: also templates, accounts, people and keys' },
]

const DAY_MS = 86_400_000

interface NewKeyProps {
  scope: Scope
  close: () => void
  issued: (key: IssuedKey) => void
}

/** The least that does: a publisher, for 90 days. */
export function NewKey({ scope, close, issued }: NewKeyProps) {
  const [name, setName] = useState('')
  const [role, setRole] = useState('publisher')
  const [days, setDays] = useState<number | string>(90)
  return (
    <AskDialog
      title="Issue a key"
      word="Issue"
      isReady={name.trim() !== ''}
      perform={async () => {
        const expiresAt = days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString()
        const key = await call<IssuedKey>('POST', '/api/keys', scope.query, { name: name.trim(), role, expiresAt })
        // After the dialog has closed itself.
        setTimeout(() => issued(key))
        return key
      }}
      done={(key) => `${key.name} can be used at once.`}
      close={close}
    >
      <Stack gap="sm">
        <TextInput
          label="Name"
          description="Of the application, or of the person. The audit says key:<name>."
          placeholder="billing"
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
          maxLength={100}
          required
          data-autofocus
        />
        <NativeSelect
          label="Role"
          value={role}
          data={ROLES}
          onChange={({ currentTarget }) => setRole(currentTarget.value)}
        />
        <NumberInput
          label="Good for so many days"
          description="Empty: until it is revoked."
          min={1}
          max={3_650}
          value={days}
          onChange={setDays}
          hideControls
        />
      </Stack>
    </AskDialog>
  )
}
