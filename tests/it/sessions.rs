//! Sessions under concurrency: several processes note when the same sessions were last used.

use std::time::Duration;

use domain::UserId;
use jiff::Timestamp;
use sqlx::{AnyConnection, AssertSqlSafe, Connection, Row};
use store::Store;
use uuid::Uuid;

const SESSIONS: usize = 2_000;

/// Adds sessions of one user.
async fn add_sessions(url: &str, user: UserId) -> Vec<Uuid> {
    let ids: Vec<Uuid> = (0..SESSIONS).map(|_| Uuid::new_v4()).collect();
    let mut connection = AnyConnection::connect(url).await.unwrap();
    for chunk in ids.chunks(500) {
        let rows: Vec<String> =
            chunk.iter().map(|id| format!("('{id}', '{user}', 1, 1, 9000000000000, '', '')")).collect();
        let sql = format!(
            "INSERT INTO sessions (id, user_id, created_at_ms, seen_at_ms, expires_at_ms, address, agent) VALUES {}",
            rows.join(",")
        );
        sqlx::query(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
    }
    ids
}

async fn processes_that_note_the_same_sessions_do_not_deadlock(url: &str) {
    let stores = [Store::open(url).unwrap(), Store::open(url).unwrap(), Store::open(url).unwrap()];
    stores[0].migrate().await.unwrap();
    let user = UserId(Uuid::now_v7());
    let ids = add_sessions(url, user).await;
    for round in 2..8 {
        let at = Timestamp::UNIX_EPOCH + Duration::from_millis(round);
        let forward: Vec<(Uuid, Timestamp)> = ids.iter().map(|id| (*id, at)).collect();
        let backward: Vec<(Uuid, Timestamp)> = forward.iter().rev().copied().collect();
        let (one, two) =
            tokio::join!(stores[0].sessions().sessions_seen(&forward), stores[1].sessions().sessions_seen(&backward));
        assert!(one.is_ok() && two.is_ok(), "{one:?} {two:?}");
    }
    let mut connection = AnyConnection::connect(url).await.unwrap();
    let sql = "SELECT COUNT(*) AS noted FROM sessions WHERE seen_at_ms = 7";
    let noted: i64 = sqlx::query(sql).fetch_one(&mut connection).await.unwrap().get("noted");
    assert_eq!(noted, SESSIONS as i64);

    let now = Timestamp::UNIX_EPOCH + Duration::from_millis(100);
    let all: Vec<(Uuid, Timestamp)> = ids.iter().rev().map(|id| (*id, now)).collect();
    let (noted, ended) =
        tokio::join!(stores[0].sessions().sessions_seen(&all), stores[2].sessions().end_sessions(user, now));
    assert!(noted.is_ok() && ended.is_ok(), "{noted:?} {ended:?}");
    assert_eq!(stores[0].sessions().sessions_of(user, now).await.unwrap(), []);
}

mod sqlite {
    database_tests!(sqlite, sessions: processes_that_note_the_same_sessions_do_not_deadlock);
}

mod stack {
    mod postgres {
        use std::time::Duration;

        use serde_json::json;

        use crate::support::{Plan, Rung, until};

        database_tests!(postgres, sessions: processes_that_note_the_same_sessions_do_not_deadlock);

        /// By itself, as each process asks the database.
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn log_out_at_one_server_ends_the_session_at_the_other() {
            let shop = Plan::on(Rung::Postgres).await.roles(&["serve", "serve", "control"]).start().await;
            let mei = shop.register("mei", "correct horse").await;
            let copy = shop.client().with_cookie(&mei.cookie().unwrap());
            copy.at(1).get("/api/me").await.expect(200);
            mei.at(0).post("/api/logout", json!({})).await.expect(204);
            copy.at(0).get("/api/me").await.expect(401);
            let read = async || copy.at(1).get("/api/me").await;
            until("the session has ended", Duration::from_secs(5), read, |answer| answer.status == 401).await;
        }
    }
}
