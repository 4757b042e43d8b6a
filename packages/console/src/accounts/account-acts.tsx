import { Button, Group, Text } from '@mantine/core'
import { notifications as toasts } from '@mantine/notifications'
import type { Account } from '@pillarbox/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../app/api.ts'
import type { Scope } from '../app/session.ts'
import { AskDialog } from '../parts/ask-dialog.tsx'
import { useAccountNumbers } from './use-account-numbers.ts'

interface VendorsAnswer {
  isGood?: boolean
  isConnected?: boolean
  detail: string
}

/** Stopping and starting an account, and asking its vendor. */
export function AccountActs({ account, scope }: { account: Account; scope: Scope }) {
  const [isAsking, setAsking] = useState(false)
  const queries = useQueryClient()
  const numbers = useAccountNumbers(scope).get(account.id)
  const waiting = (numbers?.queueDepth ?? 0) + (numbers?.scheduledDepth ?? 0)
  const path = `/api/channel-accounts/${account.id}`
  const ask = useMutation({
    mutationFn: (what: 'verify' | 'connect') => call<VendorsAnswer>('POST', `${path}/${what}`, scope.query),
    onSuccess: async ({ isGood, isConnected, detail }) => {
      const isYes = isGood ?? isConnected ?? false
      toasts.show({
        color: isYes ? 'green' : 'red',
        title: isYes ? 'The vendor says yes' : 'The vendor says no',
        message: detail,
        autoClose: 10_000,
      })
      await queries.invalidateQueries({ queryKey: ['live'] })
    },
    onError: (error) => toasts.show({ color: 'red', title: 'The vendor was not asked', message: error.message }),
  })
  const isOn = account.status === 'active'
  const word = isOn ? 'Suspend' : 'Activate'
  return (
    <Group gap="xs">
      <Button
        size="xs"
        variant="default"
        loading={ask.isPending && ask.variables === 'verify'}
        onClick={() => ask.mutate('verify')}
      >
        Verify
      </Button>
      {account.webhookUrl !== null && (
        <Button
          size="xs"
          variant="default"
          loading={ask.isPending && ask.variables === 'connect'}
          onClick={() => ask.mutate('connect')}
        >
          Connect receipts
        </Button>
      )}
      <Button size="xs" variant={isOn ? 'default' : 'filled'} onClick={() => setAsking(true)}>
        {word}…
      </Button>
      {isAsking && (
        <AskDialog
          title={`${word} ${account.name}`}
          word={word}
          perform={() => call<Account>('POST', `${path}/${isOn ? 'suspend' : 'activate'}`, scope.query)}
          done={({ status }) => `It is ${status} now.`}
          close={() => setAsking(false)}
        >
          <Text>
            {isOn
              ? `Nothing more is sent through it; calls under way end. ${waiting} wait on it: each goes to the account that stands in, or falls back to the next channel of its chain, or is parked as channel_suspended, to be retried by hand.`
              : `It sends again, at once and at its pace. ${waiting} wait on it. What was parked while it was suspended stays parked until somebody retries it.`}
          </Text>
        </AskDialog>
      )}
    </Group>
  )
}
