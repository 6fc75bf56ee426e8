/** Finds Helm, or builds it from the module that go.mod pins: a minute or two, once per version and machine. Called by tests with charts. */
import { ensureGoProgram } from '../go-program.ts'

/** Returns the path of the program. The variable KOPF_TEST_HELM names one that is already installed. */
export function ensureHelm(): Promise<string> {
  return ensureGoProgram({
    name: 'helm',
    title: 'Helm',
    module: 'helm.sh/helm/v3',
    command: 'helm.sh/helm/v3/cmd/helm',
    folder: new URL('.', import.meta.url),
    variable: 'KOPF_TEST_HELM',
  })
}
