-- The alerts of budgets that reached a share, one row each. due_at is when the alert is sent,
-- or sent again where the replica that claimed it has not said how it went; 0: it is ended.
CREATE TABLE budget_alerts (
    account    TEXT   NOT NULL,
    span       TEXT   NOT NULL,
    period     TEXT   NOT NULL,
    threshold  BIGINT NOT NULL,
    budget     BIGINT NOT NULL,
    spent      BIGINT NOT NULL,
    id         TEXT   NOT NULL,
    attempts   BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    due_at     BIGINT NOT NULL,
    PRIMARY KEY (account, span, period, threshold, budget)
);
CREATE INDEX budget_alerts_due ON budget_alerts (due_at) WHERE due_at > 0;
