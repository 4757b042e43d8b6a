import { Alert, Button, PasswordInput, Stack, Text, Title } from '@mantine/core'
import type { Session } from '@pillarbox/client'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { call } from '../app/api.ts'
import mark from '../app/mark.svg'

/** The way in: a link that opens once, or a key. */
export function SignIn() {
  const { t: token, back } = useSearch({ from: '/login' })
  const [key, setKey] = useState('')
  const [problem, setProblem] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(token !== undefined)
  const queries = useQueryClient()
  const navigate = useNavigate()
  const isUsed = useRef(false)

  async function enter(with_: { key: string } | { token: string }): Promise<void> {
    setBusy(true)
    try {
      const session = await call<Session>('POST', '/api/session', {}, with_)
      queries.clear()
      queries.setQueryData(['session'], session)
      await navigate({ href: back?.startsWith('/') && !back.startsWith('//') ? back : '/', replace: true })
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
      setBusy(false)
    }
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: a link is used once, when the page opens.
  useEffect(() => {
    if (token === undefined || isUsed.current) return
    isUsed.current = true
    // What opens once must not stay where somebody could read it.
    history.replaceState(null, '', '/login')
    void enter({ token })
  }, [])

  function submit(event: FormEvent): void {
    event.preventDefault()
    void enter({ key: key.trim() })
  }

  return (
    <Stack component="main" maw={400} mx="auto" pt="12vh" gap="md">
      <Title order={1} style={{ display: 'flex', gap: 10, alignItems: 'center' }}>
        <img src={mark} alt="" width="28" height="28" /> Pillarbox
      </Title>
      {problem !== null && (
        <Alert color="red" variant="outline" role="alert" title="You are not signed in">
          {problem}
        </Alert>
      )}
      <form onSubmit={submit}>
        <Stack gap="md">
          <PasswordInput
            label="API key"
            description="Of the role viewer, operator, admin or ops. What you do is on record under its name."
            value={key}
            onChange={({ currentTarget }) => setKey(currentTarget.value)}
            autoComplete="current-password"
            visibilityToggleButtonProps={{ 'aria-label': 'Show the key' }}
            required
            autoFocus
          />
          <Button type="submit" loading={isBusy}>
            Sign in
          </Button>
        </Stack>
      </form>
      <Text c="dimmed" size="sm">
        Started with <span className="mono">npm start</span>? The terminal shows a link that lets you in once, and, at
        the first start, an ops key. <span className="mono">pillarbox keys ops</span> makes another.
      </Text>
    </Stack>
  )
}
