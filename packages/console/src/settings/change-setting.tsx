import { NativeSelect, Text, TextInput } from '@mantine/core'
import type { Tenant } from '@pillarbox/client'
import { useState } from 'react'
import { call } from '../app/api.ts'
import type { Scope } from '../app/session.ts'
import { AskDialog } from '../parts/ask-dialog.tsx'
import type { Setting } from './tenant-settings.tsx'

interface ChangeSettingProps {
  setting: Setting
  tenant: Tenant
  scope: Scope
  close: () => void
}

export function ChangeSetting({ setting, tenant, scope, close }: ChangeSettingProps) {
  const { key, name, effect, otherwise, placeholder, choices } = setting
  const before = tenant[key] ?? ''
  const [value, setValue] = useState(before)
  const isReady = value !== before && (value !== '' || otherwise !== null)
  return (
    <AskDialog
      title={name}
      word="Save"
      isReady={isReady}
      perform={() =>
        call<Tenant>('PATCH', '/api/tenant', scope.query, { [key]: value.trim() === '' ? null : value.trim() })
      }
      done={(after) => `${name} is ${after[key] ?? otherwise} now.`}
      close={close}
    >
      {choices ? (
        <NativeSelect
          label={name}
          description={effect}
          value={value}
          data={[
            { value: '', label: `default (${otherwise})` },
            ...choices.map((each) => ({ value: each, label: each })),
          ]}
          onChange={({ currentTarget }) => setValue(currentTarget.value)}
        />
      ) : (
        <TextInput
          label={name}
          description={effect}
          placeholder={placeholder}
          value={value}
          onChange={({ currentTarget }) => setValue(currentTarget.value)}
          data-autofocus
        />
      )}
      <Text mt="sm" size="sm" c="dimmed">
        {before === '' ? `Now: the default, ${otherwise}.` : `Now: ${before}.`}
        {otherwise !== null && before !== '' && ' Empty goes back to the default.'} It acts at once, without a restart.
      </Text>
    </AskDialog>
  )
}
