/** A session with kubectl: typed commands, in a new namespace. The title follows the word "kubectl" in the name of the test. */
export interface Script {
  readonly title: string
  /** A number in front is an exit code other than 0; `$NS` is the namespace. */
  readonly commands: readonly string[]
}

/** A command that sets a status, as a controller would. */
export function setStatus(resource: string, status: object): string {
  return `patch ${resource} --subresource=status --type=merge -p '${JSON.stringify({ status })}'`
}
