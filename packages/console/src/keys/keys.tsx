import { Button, Group, SegmentedControl, Stack, Text, Title } from '@mantine/core'
import type { IssuedKey, Key } from '@pillarbox/client'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { useCanConfigure, useScope } from '../app/session.ts'
import { Blank } from '../parts/blank.tsx'
import { PagedList, usePaged } from '../parts/paged.tsx'
import { IssuedSecret } from './issued-secret.tsx'
import { RevokeKey, RotateKey } from './key-dialogs.tsx'
import { stateOf } from './key-state.tsx'
import { KeyTable } from './key-table.tsx'
import { NewKey } from './new-key.tsx'

type Dialog = { kind: 'new' } | { kind: 'rotate' | 'revoke'; key: Key } | { kind: 'issued'; issued: IssuedKey }

/** Who may call, and who still does. */
export function Keys() {
  const scope = useScope()
  const canConfigure = useCanConfigure()
  const { show } = useSearch({ from: '/shell/keys' })
  const navigate = useNavigate({ from: '/keys' })
  const [dialog, open] = useState<Dialog | null>(null)
  const list = usePaged<Key>('/api/keys', canConfigure ? scope : { ...scope, tenantId: null })
  if (!canConfigure)
    return (
      <Blank title="Keys are an admin’s">
        Your key may look at what is sent, and not at who may send: sign in with a key of the role admin.
      </Blank>
    )
  const close = (): void => open(null)
  const shown = list.items?.filter((key) => show === 'all' || stateOf(key).isGood)
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Title order={1}>Keys</Title>
        <Button size="xs" onClick={() => open({ kind: 'new' })}>
          Issue a key…
        </Button>
      </Group>
      <Text c="dimmed">
        A key is shown once, when it is issued; only its hash is kept. Give each application and each person one of
        their own: what it does is on record under its name.
      </Text>
      <div>
        <SegmentedControl
          size="xs"
          aria-label="Which keys"
          value={show ?? 'good'}
          data={[
            { value: 'good', label: 'good' },
            { value: 'all', label: 'all, revoked ones too' },
          ]}
          onChange={(value) => void navigate({ search: { show: value === 'all' ? 'all' : undefined } })}
        />
      </div>
      <section className="panel" aria-label="Keys">
        <PagedList
          list={{ ...list, items: shown }}
          blank={
            <Blank title="No key yet">
              Issue one of the role <span className="mono">publisher</span> for the application that sends.
            </Blank>
          }
        >
          {(keys) => <KeyTable keys={keys} act={(kind, key) => open({ kind, key })} />}
        </PagedList>
      </section>
      {dialog?.kind === 'new' && (
        <NewKey scope={scope} close={close} issued={(issued) => open({ kind: 'issued', issued })} />
      )}
      {dialog?.kind === 'rotate' && (
        <RotateKey scope={scope} of={dialog.key} close={close} issued={(issued) => open({ kind: 'issued', issued })} />
      )}
      {dialog?.kind === 'revoke' && <RevokeKey scope={scope} of={dialog.key} close={close} />}
      {dialog?.kind === 'issued' && <IssuedSecret issued={dialog.issued} close={close} />}
    </Stack>
  )
}
