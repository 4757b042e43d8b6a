import { Text, TextInput } from '@mantine/core'
import type { Template } from '@pillarbox/client'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../app/api.ts'
import type { Scope } from '../app/session.ts'
import { AskDialog } from '../parts/ask-dialog.tsx'
import { readObject } from './words.ts'

/** Which address a channel needs, and what to call it. */
const ADDRESSES: Record<string, { field: string; label: string; example: string }> = {
  email: { field: 'email', label: 'Email address', example: 'you@example.com' },
  sms: { field: 'phone', label: 'Telephone number', example: '+12025550100' },
  whatsapp: { field: 'phone', label: 'Telephone number', example: '+12025550100' },
  push: { field: 'deviceToken', label: 'Device token', example: '' },
  in_app: { field: 'userId', label: 'User id', example: '12345' },
  webhook: { field: 'url', label: 'URL', example: 'https://example.com/hook' },
}

interface TestSendProps {
  template: Template
  /** JSON: what the words are filled with. */
  sample: string
  scope: Scope
  close: () => void
}

/** Sends the saved words to somebody, to see them arrive. */
export function TestSend({ template, sample, scope, close }: TestSendProps) {
  const [address, setAddress] = useState('')
  const navigate = useNavigate()
  const { field, label, example } = ADDRESSES[template.channel] ?? { field: 'email', label: 'Address', example: '' }
  const context = readObject(sample)

  async function send(): Promise<void> {
    const body = { to: { [field]: address.trim() }, context: context === 'bad' ? {} : (context ?? {}) }
    const { id } = await call<{ id: string }>(
      'POST',
      `/api/message-templates/${template.id}/test-send`,
      scope.query,
      body,
    )
    await navigate({ to: '/notifications/$id', params: { id } })
  }

  return (
    <AskDialog
      title={`Send version ${template.version} to somebody`}
      word="Send the test"
      isReady={address.trim() !== ''}
      perform={send}
      done={() => 'It is a notification like any other: this is its page.'}
      close={close}
    >
      <Text mb="sm">
        A real message, filled with the sample, through the account that would send it. With a sandbox account it goes
        to the sandbox’s inbox.
      </Text>
      <TextInput
        label={label}
        placeholder={example}
        value={address}
        onChange={({ currentTarget }) => setAddress(currentTarget.value)}
        data-autofocus
      />
    </AskDialog>
  )
}
