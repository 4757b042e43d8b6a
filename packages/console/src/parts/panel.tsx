import { Title } from '@mantine/core'
import { type ReactNode, useId } from 'react'

/** A part of a screen with a name. */
export function Panel({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  const id = useId()
  return (
    <section className="panel" aria-labelledby={id}>
      <header>
        <Title order={2} id={id} style={{ flex: 1 }}>
          {title}
        </Title>
        {aside}
      </header>
      {children}
    </section>
  )
}
