import type { InstanceStore } from '../../operate/instance-store.ts'
import { row, type ScriptRunner } from './script.ts'

export function sharedInstance({ read, change }: ScriptRunner): InstanceStore {
  return {
    // The update changes nothing, but makes the statement answer the row that was there, and wait for a process that is
    // writing it.
    settle: async (name, value) => {
      const [settled] = await change(
        `insert into pillarbox.instance as i (name, value) values (:name, :value)
          on conflict (name) do update set value = i.value returning value`,
        { name, value },
      )
      return String(settled?.['value'])
    },
    read: (name) =>
      read(function* () {
        const found = yield* row('select value from pillarbox.instance where name = :name', { name })
        return found && String(found['value'])
      }),
    // To something else each time, so that it cannot be done without writing.
    touch: async () => {
      await change(
        `insert into pillarbox.instance as i (name, value) values (:name, '0')
          on conflict (name) do update set value = case i.value when '0' then '1' else '0' end returning name`,
        { name: 'touched' },
      )
    },
    change: async (name, from, to) => {
      const changed = await change(
        'update pillarbox.instance set value = :to where name = :name and value = :from returning name',
        { name, from, to },
      )
      return changed.length === 1
    },
  }
}
