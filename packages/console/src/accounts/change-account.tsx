import { Button, Group, NumberInput, Text, TextInput } from '@mantine/core'
import { notifications as toasts } from '@mantine/notifications'
import type { Account } from '@pillarbox/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, call } from '../app/api.ts'
import type { Scope } from '../app/session.ts'
import { Panel } from '../parts/panel.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { FieldInputs, secretsOf, settingsOf, typedOf } from './field-inputs.tsx'
import { useProviders } from './providers.ts'

/** Changing what an account is made of. Secrets can be replaced, and are never shown. */
export function ChangeAccount({ account, scope }: { account: Account; scope: Scope }) {
  const { data } = useProviders(scope)
  const queries = useQueryClient()
  const [name, setName] = useState(account.name)
  const [perSecond, setPerSecond] = useState<number | string>(account.pace?.perSecond ?? '')
  const [settings, setSettings] = useState(() => typedOf(account.settings))
  const [secrets, setSecrets] = useState<Record<string, string>>({})
  const provider = data?.items.find((each) => each.name === account.provider && each.channel === account.channel)
  const save = useMutation({
    mutationFn: () => {
      const known = settingsOf(provider?.settings ?? [], settings)
      // What the form does not have stays as it is.
      const others = Object.entries(account.settings).filter(
        ([key]) => !provider?.settings.some((field) => field.name === key),
      )
      const given = secretsOf(secrets)
      return call<Account>('PATCH', `/api/channel-accounts/${account.id}`, scope.query, {
        name,
        settings: { ...Object.fromEntries(others), ...known },
        ...(Object.keys(given).length > 0 && { secrets: given }),
        ...paceChange(account, perSecond),
      })
    },
    onSuccess: async () => {
      setSecrets({})
      toasts.show({ color: 'green', title: 'Saved', message: 'It is used from the next message on.' })
      await queries.invalidateQueries({ queryKey: ['live'] })
    },
  })
  const errors = save.error instanceof ApiError ? save.error.errors : []
  return (
    <Panel title="Change it">
      <form
        className="inside"
        onSubmit={(event) => {
          event.preventDefault()
          save.mutate()
        }}
      >
        <TextInput
          label="Name"
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
          mb="xs"
          required
        />
        {account.pace?.tier === undefined && (
          <NumberInput
            label="Pace, per second"
            description="Empty: no limit."
            value={perSecond}
            onChange={setPerSecond}
            min={0.01}
            mb="xs"
          />
        )}
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
              isSet={(secret) => account.secrets.includes(secret)}
              path="/secrets"
              errors={errors}
            />
          </>
        )}
        <Refusal error={save.error} title="It was not saved" />
        <Group mt="sm">
          <Button type="submit" size="xs" loading={save.isPending}>
            Save
          </Button>
          <Text size="sm" c="dimmed">
            Secrets are kept sealed: nobody sees them again, here or anywhere.
          </Text>
        </Group>
      </form>
    </Panel>
  )
}

/** What is not touched is not said: how many go at once stays as it is. */
function paceChange({ pace }: Account, perSecond: number | string): object {
  if (pace?.tier !== undefined || perSecond === (pace?.perSecond ?? '')) return {}
  if (!(Number(perSecond) > 0)) return { pace: null }
  return { pace: { perSecond: Number(perSecond), ...(pace?.burst !== undefined && { burst: pace.burst }) } }
}
