import type { InstanceStore } from '../../operate/instance-store.ts'
import { row, type Script, type ScriptRunner } from './script.ts'

export function sharedInstance({ read, write }: ScriptRunner): InstanceStore {
  return {
    settle: (name, value) => write(() => settleValue(name, value)),
    read: (name) => read(() => readValue(name)),
    change: (name, from, to) => write(() => changeValue(name, from, to)),
  }
}

function* settleValue(name: string, value: string): Script<string> {
  // The update that changes nothing makes the statement answer the row that was there, and wait for whoever writes it.
  const settled = yield* row(
    `insert into pillarbox.instance as i (name, value) values ($1, $2)
      on conflict (name) do update set value = i.value returning value`,
    [name, value],
  )
  return String(settled?.['value'])
}

function* readValue(name: string): Script<string | null> {
  const found = yield* row('select value from pillarbox.instance where name = $1', [name])
  return found && String(found['value'])
}

function* changeValue(name: string, from: string, to: string): Script<boolean> {
  const changed = yield* row('update pillarbox.instance set value = $3 where name = $1 and value = $2 returning name', [
    name,
    from,
    to,
  ])
  return changed !== null
}
