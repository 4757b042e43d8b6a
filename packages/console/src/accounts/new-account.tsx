import { Button, Group, NativeSelect, Stack, Text, TextInput, Title } from '@mantine/core'
import type { Account, Provider } from '@pillarbox/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError, call } from '../app/api.ts'
import { type Scope, useCanConfigure, useScope } from '../app/session.ts'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { CHANNEL_NAMES, channelWord } from '../parts/to.tsx'
import { FieldInputs, secretsOf, settingsOf } from './field-inputs.tsx'
import { useProviders } from './providers.ts'

/** A new account, with the fields that its provider asks for. */
export function NewAccount() {
  const scope = useScope()
  const canConfigure = useCanConfigure()
  const { data, error, refetch } = useProviders(scope)
  if (!canConfigure) return <Blank title="Making accounts needs an admin’s key" />
  if (!data) return error ? <Trouble error={error} retry={() => void refetch()} /> : <Loading />
  return <Making providers={data.items} scope={scope} />
}

function Making({ providers, scope }: { providers: readonly Provider[]; scope: Scope }) {
  const asked = useSearch({ from: '/shell/accounts/new' })
  const navigate = useNavigate({ from: '/accounts/new' })
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [settings, setSettings] = useState<Record<string, string>>({})
  const [secrets, setSecrets] = useState<Record<string, string>>({})
  const channel = asked.channel ?? 'email'
  const possible = providers.filter((each) => each.channel === channel)
  const provider = possible.find((each) => each.name === asked.provider) ?? possible[0]
  const make = useMutation({
    mutationFn: () =>
      call<Account>('POST', '/api/channel-accounts', scope.query, {
        channel,
        provider: provider?.name ?? '',
        name: name.trim(),
        settings: settingsOf(provider?.settings ?? [], settings),
        secrets: secretsOf(secrets),
      }),
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: ['live', 'accounts'] })
      await navigate({ to: '/accounts/$id', params: { id } })
    },
  })
  const errors = make.error instanceof ApiError ? make.error.errors : []
  return (
    <Stack gap="md">
      <Text size="sm">
        <Link to="/accounts">Accounts</Link>
      </Text>
      <Title order={1}>A new account</Title>
      <form
        className="panel"
        style={{ maxWidth: 640 }}
        onSubmit={(event) => {
          event.preventDefault()
          make.mutate()
        }}
      >
        <div className="inside">
          <Group gap="xs" align="end" mb="xs">
            <NativeSelect
              label="Channel"
              value={channel}
              data={CHANNEL_NAMES.map((each) => ({ value: each, label: channelWord(each) }))}
              onChange={({ currentTarget }) =>
                void navigate({ search: { channel: currentTarget.value }, replace: true })
              }
            />
            <NativeSelect
              label="Provider"
              value={provider?.name ?? ''}
              data={possible.map((each) => each.name)}
              onChange={({ currentTarget }) =>
                void navigate({ search: { channel, provider: currentTarget.value }, replace: true })
              }
            />
          </Group>
          <Text size="sm" c="dimmed" mb="sm">
            {provider?.words.replaceAll('`', '') || 'Delivers to the sandbox’s inbox, and to nobody.'}
          </Text>
          <TextInput
            label="Name"
            description="What people call it."
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
            mb="xs"
            required
          />
          {provider && (
            <>
              <FieldInputs
                fields={provider.settings}
                values={settings}
                change={setSettings}
                path="/settings"
                errors={errors}
              />
              <FieldInputs
                fields={provider.secrets}
                values={secrets}
                change={setSecrets}
                isSecret
                path="/secrets"
                errors={errors}
              />
            </>
          )}
          <Refusal error={make.error} title="It was not made" />
          <Button type="submit" size="xs" mt="sm" loading={make.isPending}>
            Make it
          </Button>
        </div>
      </form>
    </Stack>
  )
}
