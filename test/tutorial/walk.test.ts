/**
 * The walk-through as it is read, with nothing but Node: every file is saved, every command typed, every answer compared with the
 * page. With kubectl, and on the real control plane: test/real/tutorial.test.ts.
 */
import { join } from 'node:path'
import { standInForKubectl } from './kubectl.ts'
import { walkThrough } from './walking.ts'

walkThrough({ kubectl: (folder) => standInForKubectl(join(folder, 'kubeconfig')), deletesByFile: true })
