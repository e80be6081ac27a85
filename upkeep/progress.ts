/** How long work tells where it is; `total` null where the end is not known yet. */
export type OnProgress = (step: string, done: number, total: number | null) => void;
