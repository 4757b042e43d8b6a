import { Button, CopyButton, Group, Modal, Text, TextInput } from '@mantine/core'
import type { IssuedKey } from '@pillarbox/client'

/** A key, this once, with a request that is ready to be sent. */
export function IssuedSecret({ issued, close }: { issued: IssuedKey; close: () => void }) {
  const request = requestWith(issued)
  return (
    <Modal
      opened
      onClose={close}
      title={`The key ${issued.name}`}
      size="lg"
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Text mb="sm">Copy it now. It is not shown again, to anybody.</Text>
      <Group gap="xs" align="end" wrap="nowrap">
        <TextInput
          label="Key"
          value={issued.key}
          readOnly
          style={{ flex: 1 }}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          onFocus={({ currentTarget }) => currentTarget.select()}
          data-autofocus
        />
        <Copy value={issued.key} />
      </Group>
      <Text mt="md" mb={4} size="sm" fw={500}>
        A request with it
      </Text>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <pre className="said mono" tabIndex={0}>
        {request}
      </pre>
      <Group mt="md" justify="end">
        <Copy value={request} word="Copy the request" />
        <Button onClick={close}>I have it</Button>
      </Group>
    </Modal>
  )
}

function Copy({ value, word = 'Copy' }: { value: string; word?: string }) {
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Button variant="default" onClick={copy}>
          {copied ? 'Copied' : word}
        </Button>
      )}
    </CopyButton>
  )
}

function requestWith({ key, role }: IssuedKey): string {
  const here = location.origin
  if (role !== 'publisher' && role !== 'admin')
    return `curl '${here}/api/notifications?limit=5' \\\n  -H 'authorization: Bearer ${key}'`
  const body = { channel: 'email', to: { email: 'ana@example.com' }, subject: 'Hello', body: 'It works.' }
  return `curl -X POST '${here}/api/notifications' \\\n  -H 'authorization: Bearer ${key}' \\\n  -H 'content-type: application/json' \\\n  -d '${JSON.stringify(body)}'`
}
