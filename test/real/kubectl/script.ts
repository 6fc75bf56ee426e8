/** A session with kubectl: commands as they are typed, one after the other, in a namespace of their own. */
export interface Script {
  readonly title: string
  /** A number in front is an exit code other than 0; `$NS` is the namespace. */
  readonly commands: readonly string[]
}

/** What a controller would write. */
export function setStatus(resource: string, status: object): string {
  return `patch ${resource} --subresource=status --type=merge -p '${JSON.stringify({ status })}'`
}
