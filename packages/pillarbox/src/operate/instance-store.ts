/** What is true of the whole installation. */
export interface InstanceStore {
  /** Writes the value if the name has none yet. Answers what it has now: of several processes at once, all get the same. */
  settle(name: string, value: string): Promise<string>
  read(name: string): Promise<string | null>
  /** Commits one small write, to find out whether anything can be written. */
  touch(): Promise<void>
  /** Puts `to` in the place of `from`; false when it was something else. */
  change(name: string, from: string, to: string): Promise<boolean>
}
