use domain::DrawStage;

texts! {
    /// Where a draw stands, for pages and their script: a text for each stage, and what its countdown counts to.
    DrawStageText {
        announced: "报名尚未开放", "Entries are not open yet";
        entries: "报名进行中", "Entries are open";
        paused: "报名已暂停", "Entries are paused";
        review: "报名已截止，名单核对中", "Entries are closed and being reviewed";
        locked: "名单已锁定，等待公开随机数", "The list is locked. The public round is still to come";
        due: "正在抽签", "The draw is being held";
        drawn: "已抽签，中签者付款中", "Drawn. Winners are paying";
        settled: "抽签已结束", "The draw is over";
        called_off: "抽签已取消", "The draw was called off";
        until_announced: "距开放报名", "Entries open in";
        until_entries: "距报名截止", "Entries close in";
        until_review: "距名单锁定", "The list is locked in";
        until_locked: "距公开随机数", "The round appears in";
        at_announced: "报名开放：", "Entries open:";
        at_entries: "报名截止：", "Entries close:";
        at_review: "名单锁定：", "The list is locked:";
        at_locked: "公开随机数：", "Public round:";
        numbers: "{} 个报名，{} 件商品", "Entries: {}, units: {}";
        changed: "状态已更新：{}", "Now: {}";
    }
}

impl DrawStageText {
    pub fn stage(&self, stage: &DrawStage) -> &'static str {
        match stage {
            DrawStage::Announced => self.announced,
            DrawStage::Entries => self.entries,
            DrawStage::Paused => self.paused,
            DrawStage::Review => self.review,
            DrawStage::Locked => self.locked,
            DrawStage::Due => self.due,
            DrawStage::Drawn => self.drawn,
            DrawStage::Settled => self.settled,
            DrawStage::CalledOff => self.called_off,
        }
    }

    /// What happens at the end of a stage, where the clock ends it.
    pub fn at(&self, stage: &DrawStage) -> &'static str {
        match stage {
            DrawStage::Announced => self.at_announced,
            DrawStage::Entries => self.at_entries,
            DrawStage::Review => self.at_review,
            DrawStage::Locked => self.at_locked,
            _ => "",
        }
    }
}
