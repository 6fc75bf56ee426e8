/**
 * The tutorial with nothing but Node: saves every file, types every command, and compares every output with the page. With kubectl and
 * on the real control plane: test/real/tutorial-with-kubectl.test.ts.
 */
import { join } from 'node:path'
import { standInForKubectl } from './tutorial-kubectl.ts'
import { walkThrough } from './walk-through.ts'

walkThrough({ kubectl: (folder) => standInForKubectl(join(folder, 'kubeconfig')), deletesByFile: true })
