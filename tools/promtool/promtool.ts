/** Finds promtool, or builds it from the module that go.mod pins: some minutes, once per version and machine. Called by tests of rules and metrics. */
import { ensureGoProgram } from '../go-program.ts'

/** Returns the path of the program. The variable KOPF_TEST_PROMTOOL names one that is already installed. */
export function ensurePromtool(): Promise<string> {
  return ensureGoProgram({
    name: 'promtool',
    title: 'promtool',
    module: 'github.com/prometheus/prometheus',
    command: 'github.com/prometheus/prometheus/cmd/promtool',
    folder: new URL('.', import.meta.url),
    variable: 'KOPF_TEST_PROMTOOL',
  })
}
